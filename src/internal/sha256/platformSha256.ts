import { type Sha256, type HashFunction, sha256With } from "./Sha256.ts";

interface NodeProcess {
  readonly getBuiltinModule?: (name: "node:crypto") => { readonly hash?: HashFunction } | undefined;
}

/** Returns the SHA-256 function of Node without importing Node. Elsewhere, returns an implementation in JavaScript. */
export async function platformSha256(): Promise<Sha256> {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const hash = process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? sha256With(hash) : (await import("./portableSha256.ts")).portableSha256;
}
