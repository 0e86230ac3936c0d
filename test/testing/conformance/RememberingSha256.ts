import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import type { Sha256 } from "../../../src/internal/sha256/Sha256.ts";

/** Keeps the bytes it was last asked about. Of a log in memory that verifies them, these are the stored bytes themselves. */
export class RememberingSha256 implements Sha256 {
  #last: Uint8Array = new Uint8Array();

  base64url(data: string | Uint8Array): string {
    this.#remember(data);
    return nodeSha256.base64url(data);
  }

  hex(data: string | Uint8Array): string {
    this.#remember(data);
    return nodeSha256.hex(data);
  }

  alterLast(): void {
    alterByte(this.#last);
  }

  #remember(data: string | Uint8Array): void {
    if (typeof data !== "string") this.#last = data;
  }
}

/** Changes a byte in the middle. */
export function alterByte(bytes: Uint8Array): void {
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}
