import type { Sha256 } from "./Sha256.ts";
import { sha256With, type HashFunction } from "./sha256With.ts";
import { wasmSha256 } from "./wasmSha256.ts";

interface NodeProcess {
  readonly getBuiltinModule?: (name: "node:crypto") => { readonly hash?: HashFunction } | undefined;
}

/** Node's SHA-256 where there is Node, found without importing it; WebAssembly elsewhere. Equal results. */
export async function platformSha256(): Promise<Sha256> {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const hash = process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? sha256With(hash) : wasmSha256();
}
