// Functions of one number in float32. They neither overflow nor cancel for finite numbers. The built-in exp has an
// error of a few units in the last place; log and tanh have large relative errors near 0, so nothing uses them there.

// EACH runs a loop over i = 0 to n-1, divided among all threads of a dispatch with 256 threads in a group.
#define EACH(i, n) for (uint i = gl_GlobalInvocationID.x; i < (n); i += gl_NumWorkGroups.x * 256u)

// e^x - 1; a Taylor polynomial of degree 10 where |x| < 1/2, with an error below 1e-9 relative
float expm1(float x) {
  if (abs(x) >= 0.5) return exp(x) - 1.0;
  float s = 1.0 + x * (1.0 / 10.0);
  s = 1.0 + x * (1.0 / 9.0) * s;
  s = 1.0 + x * (1.0 / 8.0) * s;
  s = 1.0 + x * (1.0 / 7.0) * s;
  s = 1.0 + x * (1.0 / 6.0) * s;
  s = 1.0 + x * (1.0 / 5.0) * s;
  s = 1.0 + x * (1.0 / 4.0) * s;
  s = 1.0 + x * (1.0 / 3.0) * s;
  s = 1.0 + x * 0.5 * s;
  return x * s;
}

// ln(1 + e) for e in [0, 1]: 2 artanh(q), q = e/(2+e) <= 1/3, as its series up to q^17
float log1p01(float e) {
  float q = e / (2.0 + e), s = q * q;
  float p = 1.0 / 15.0 + s * (1.0 / 17.0);
  p = 1.0 / 13.0 + s * p;
  p = 1.0 / 11.0 + s * p;
  p = 1.0 / 9.0 + s * p;
  p = 1.0 / 7.0 + s * p;
  p = 1.0 / 5.0 + s * p;
  p = 1.0 / 3.0 + s * p;
  return 2.0 * q * (1.0 + s * p);
}

// 1/(1 + e^-x)
float logistic(float x) {
  float e = exp(-abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// ln(1 + e^x)
float softplus(float x) { return (x > 0.0 ? x : 0.0) + log1p01(exp(-abs(x))); }

// tanh x = -d/(2 + d) with d = e^(-2|x|) - 1, and the sign of x
float hyperbolic(float x) {
  float d = expm1(-2.0 * abs(x)), y = -d / (2.0 + d);
  return x < 0.0 ? -y : y;
}

// the probability that a standard normal number exceeds z >= 0: erfc(z/sqrt 2)/2 by the fit of Press et al.,
// Numerical Recipes, section 6.2 (erfcc), with a relative error of 1.2e-7
float upper(float z) {
  float x = z * 0.70710678, t = 1.0 / (1.0 + 0.5 * x);
  float p = -0.82215223 + t * 0.17087277;
  p = 1.48851587 + t * p;
  p = -1.13520398 + t * p;
  p = 0.27886807 + t * p;
  p = -0.18628806 + t * p;
  p = 0.09678418 + t * p;
  p = 0.37409196 + t * p;
  p = 1.00002368 + t * p;
  return 0.5 * t * exp(-x * x - 1.26551223 + t * p);
}

// The activations, with the numbers of internal/kernel.
float activation(uint f, float x) {
  switch (f) {
    case 1: return x < 0.0 ? 0.0 : x;
    case 2: return logistic(x);
    case 3: return hyperbolic(x);
    case 4: return softplus(x);
    case 5: return x < 0.0 ? 0.2 * x : x;
    case 6: return x > 0.0 ? x : expm1(x);
    case 7: { float z = min(abs(x), 40.0); return (x > 0.0 ? x : 0.0) - z * upper(z); }
    case 8: return max(x, -750.0) * logistic(x);
    case 9: return exp(x);
    case 10: return clamp(x < 0.0 ? upper(-x) : 1.0 - upper(x), 5.9604645e-8, 0.99999994);
  }
  return x;
}

// The derivatives: a function of the value at = f(x), or of at = x for gelu (7) and silu (8).
float slope(uint f, float at) {
  switch (f) {
    case 1: return at > 0.0 ? 1.0 : 0.0;
    case 2: return at * (1.0 - at);
    case 3: return 1.0 - at * at;
    case 4: return -expm1(-at);
    case 5: return at > 0.0 ? 1.0 : 0.2;
    case 6: return at > 0.0 ? 1.0 : at + 1.0;
    case 7: {
      float z = min(abs(at), 40.0), d = z * exp(-0.5 * z * z) * 0.39894228 - upper(z);
      return at < 0.0 ? -d : 1.0 + d;
    }
    case 8: {
      float e = exp(-abs(at)), s = (at < 0.0 ? e : 1.0) / (1.0 + e), r = (at < 0.0 ? 1.0 : e) / (1.0 + e);
      return s * (1.0 + clamp(at, -750.0, 750.0) * r);
    }
    case 9: return at;
  }
  return 1.0;
}

// ln x for x > 0, with a small relative error near 1: k ln 2 + 2 artanh((m-1)/(m+1)), x = 2^k m, m in [3/4, 3/2)
float ln(float x) {
  int k;
  float m = frexp(x, k);
  if (m < 0.75) {
    m *= 2.0;
    k -= 1;
  }
  float q = (m - 1.0) / (m + 1.0), s = q * q;
  float p = 1.0 / 11.0 + s * (1.0 / 13.0);
  p = 1.0 / 9.0 + s * p;
  p = 1.0 / 7.0 + s * p;
  p = 1.0 / 5.0 + s * p;
  p = 1.0 / 3.0 + s * p;
  return float(k) * 0.69314718 + 2.0 * q * (1.0 + s * p);
}

// (sin x, cos x) by Cody and Waite's reduction to |r| <= pi/4 and the polynomials of Moshier's Cephes. The built-in
// functions may have errors of 2^-11. For |x| up to 1e4.
vec2 turn(float x) {
  precise float k = round(x * 0.63661977);
  precise float r = x - k * 1.5703125;
  r = r - k * 4.837512969970703e-4;
  r = r - k * 7.549789948768648e-8;
  float z = r * r;
  float s = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
  float c = 1.0 - 0.5 * z + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
  switch (int(k) & 3) {
    case 0: return vec2(s, c);
    case 1: return vec2(c, -s);
    case 2: return vec2(-s, -c);
  }
  return vec2(-c, s);
}
