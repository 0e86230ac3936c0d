import { hash } from "node:crypto";
import { sha256With } from "./Sha256.ts";

/** The SHA-256 function of Node, several times faster than JavaScript. Import it only in entries that require Node. */
export const nodeSha256 = sha256With(hash);
