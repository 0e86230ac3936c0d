import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import { decodeBytes, encodeBytes } from "../keys/base64.ts";
import type { DataKey } from "../keys/DataKey.ts";
import type { DataKeys } from "../keys/DataKeys.ts";

const form = /^encrypted:([^:]+):([A-Za-z0-9_-]+)$/;

const unknownReason = "a reason that cannot be decrypted";

/** Encrypts the reason of a request to stop. */
export async function sealReason(key: DataKey, agentId: string, reason: string): Promise<string> {
  return `encrypted:${key.id}:${encodeBytes(await key.encrypt(utf8(reason), contextOf(agentId)))}`;
}

/** Decrypts a reason. A request to stop counts even if its reason cannot be decrypted. */
export async function openReason(keys: DataKeys, agentId: string, stored: string): Promise<string> {
  const [, id = "", text = ""] = form.exec(stored) ?? [];
  const bytes = decodeBytes(text);
  try {
    const key = await keys.reading(agentId, id);
    const reason = bytes && (await key?.decrypt(bytes, contextOf(agentId)));
    return reason ? fromUtf8(reason) : unknownReason;
  } catch {
    return unknownReason;
  }
}

function contextOf(agentId: string): string {
  return JSON.stringify(["agent-persistence stop", 1, agentId]);
}
