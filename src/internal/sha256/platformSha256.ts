import { toBase64Url } from "../bytes.ts";
import type { Sha256 } from "./Sha256.ts";
import { type HashFunction, sha256With } from "./sha256With.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

interface NodeProcess {
  readonly getBuiltinModule?: (name: "node:crypto") => { readonly hash?: HashFunction } | undefined;
}

/** Node's SHA-256 where there is Node, found without importing it; one in JavaScript elsewhere. Equal results. */
export async function platformSha256(): Promise<Sha256> {
  const { process } = globalThis as { readonly process?: NodeProcess };
  const hash = process?.getBuiltinModule?.("node:crypto")?.hash;
  return hash ? sha256With(hash) : portableSha256;
}

/** SHA-256 in JavaScript: runs without Node. */
export const portableSha256: Sha256 = {
  base64url: (data) => toBase64Url(digest(data)),
  hex: (data) => bytesToHex(digest(data)),
};

function digest(data: string | Uint8Array): Uint8Array {
  return sha256(typeof data === "string" ? utf8ToBytes(data) : data);
}
