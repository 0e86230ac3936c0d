import { createSHA256 } from "hash-wasm";
import { toBase64Url } from "../bytes.ts";
import type { Sha256 } from "./Sha256.ts";

let loaded: Promise<Sha256> | undefined;

/** SHA-256 in WebAssembly: runs without Node. Loaded once. */
export function wasmSha256(): Promise<Sha256> {
  loaded ??= createSHA256().then((hasher) => ({
    base64url: (data) => toBase64Url(hasher.init().update(data).digest("binary")),
    hex: (data) => hasher.init().update(data).digest("hex"),
  }));
  return loaded;
}
