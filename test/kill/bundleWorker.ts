import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const repository = join(import.meta.dirname, "../..");

/**
 * Makes one file of a program and the library's source, so that each of hundreds of starts takes little.
 *
 * @param source its path from here.
 */
export async function bundleWorker(directory: string, source = "worker/worker.ts"): Promise<string> {
  await symlink(join(repository, "node_modules"), join(directory, "node_modules"));
  await build({
    entryPoints: { worker: join(import.meta.dirname, source) },
    tsconfig: join(repository, "test/tsconfig.json"),
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    // Bundled are dependencies too; only what brings a binary, or cannot be bundled, is not.
    external: ["ai", "ai7", "libsql", "pg", "@aws-sdk/*", "@modelcontextprotocol/*", "@opentelemetry/*"],
    // Some dependencies require modules of Node.
    banner: {
      js: 'import { createRequire } from "node:module"; globalThis.require ??= createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return join(directory, "worker.mjs");
}
