import { toBase64Url } from "../bytes.ts";
import type { Sha256 } from "./Sha256.ts";
import { type HashFunction, sha256With } from "./sha256With.ts";
import { createSHA256 } from "hash-wasm";

interface NodeProcess {
  readonly getBuiltinModule?: (name: "node:crypto") => { readonly hash?: HashFunction } | undefined;
}

/** Node's SHA-256 where there is Node, found without importing it; WebAssembly elsewhere. Equal results. */
export async function platformSha256(): Promise<Sha256> {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const hash = process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? sha256With(hash) : wasmSha256();
}

let loaded: Promise<Sha256> | undefined;

/** SHA-256 in WebAssembly: runs without Node. Loaded once. */
export function wasmSha256(): Promise<Sha256> {
  loaded ??= createSHA256().then((hasher) => ({
    base64url: (data) => toBase64Url(hasher.init().update(data).digest("binary")),
    hex: (data) => hasher.init().update(data).digest("hex"),
  }));
  return loaded;
}
