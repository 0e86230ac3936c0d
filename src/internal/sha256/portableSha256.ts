import { toBase64Url } from "../bytes.ts";
import type { Sha256 } from "./Sha256.ts";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** A SHA-256 function in JavaScript that runs without Node. */
export const portableSha256: Sha256 = {
  base64url: (data) => toBase64Url(digest(data)),
  hex: (data) => bytesToHex(digest(data)),
};

function digest(data: string | Uint8Array): Uint8Array {
  return sha256(typeof data === "string" ? utf8ToBytes(data) : data);
}
