# One image for every process: the command chooses which.
#   docker run portico                              the single process
#   docker run portico services/session/main.ts     one service
#   docker run portico scripts/key.ts list          the keys
#   docker run portico scripts/org.ts list          the organizations
#   docker run portico scripts/migrate.ts           the steps of older stores
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are builds of Node, which the image has already.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
# For the catalog: what agents look at is mostly kept in git, whose perl also keeps hold of what their commands start.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/* \
  && install -d -o node -g node -m 700 /data && install -d -o node -g node /project
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json main.ts ./
COPY docs/openapi.json docs/
COPY gen gen
COPY gateway gateway
COPY services services
COPY scripts/compile-cache.mjs scripts/health.mjs scripts/
COPY scripts/command.ts scripts/key-options.ts scripts/key.ts scripts/migrate.ts scripts/operator.ts scripts/operator-identity.ts scripts/org.ts scripts/token.ts scripts/
ENV NODE_ENV=production PORTICO_DATA_DIR=/data PORTICO_DIRECTORY=/project
VOLUME /data
EXPOSE 4096
RUN install -d -o node -g node node_modules/.cache
USER node
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "scripts/health.mjs"]
ENTRYPOINT ["node", "--disable-sigusr1", "--import", "./scripts/compile-cache.mjs"]
CMD ["main.ts"]
