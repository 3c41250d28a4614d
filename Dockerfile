# syntax=docker/dockerfile:1
# An image with the program alone, without a shell: docker build -t unravel .
# Runs go to the volume /unravel/runs, public data sets and converted files to /data.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w -buildid=" -o /image/bin/unravel ./cmd/unravel
RUN mkdir -p /image/unravel/runs /image/data /image/tmp /image/etc/ssl/certs /image/licences \
    && cp LICENSE NOTICE /image/licences \
    && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs \
    && chown -R 65532:65532 /image/unravel /image/data && chmod 1777 /image/tmp

FROM scratch
COPY --from=build /image /
ENV PATH=/bin HOME=/unravel UNRAVEL_DATA=/data
USER 65532:65532
WORKDIR /unravel
VOLUME ["/unravel/runs", "/data"]
ENTRYPOINT ["unravel"]
