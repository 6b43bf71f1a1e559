# One image for every process: the command chooses which.
#   docker run portico                the single process
#   docker run portico session        one service
#   docker run portico key list       the keys
#   docker run portico org list       the organizations
#   docker run portico migrate        the steps of older stores
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
COPY bin bin
COPY cli cli
ENV NODE_ENV=production PORTICO_DATA_DIR=/data PORTICO_DIRECTORY=/project
VOLUME /data
EXPOSE 4096
RUN install -d -o node -g node node_modules/.cache
USER node
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "bin/portico.mjs", "health"]
ENTRYPOINT ["node", "--disable-sigusr1", "bin/portico.mjs"]
CMD ["serve"]
