import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = fileURLToPath(new URL("../src/", import.meta.url));

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  resolve: {
    alias: [
      { find: /^agent-persistence$/, replacement: `${source}index.ts` },
      { find: /^agent-persistence\/(.+)$/, replacement: `${source}$1.ts` },
    ],
  },
  test: { include: ["test/**/*.test.ts"], exclude: ["test/soak/**"], testTimeout: 60_000 },
});
