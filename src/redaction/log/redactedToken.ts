import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { fromUtf8, utf8 } from "../../internal/bytes.ts";
import { decodeBytes, encodeBytes } from "../../encryption/keys/base64.ts";
import type { DataKey } from "../../encryption/keys/DataKey.ts";
import type { DataKeys } from "../../encryption/keys/DataKeys.ts";

/** A text in place of a redacted value: the shown text, then the agent, its key and the encrypted value. */
const form = /\[redacted:([\w-]+)\.([\w-]+)\.([\w-]+)\]$/;

/** The start of the encrypted part of a token. */
export const tokenMark = "[redacted:";

export function isToken(text: string): boolean {
  return text.includes(tokenMark) && form.test(text);
}

/** Returns the bytes with which the encrypted part of each token of an agent starts. */
export function startOfTokens(agentId: string): Uint8Array {
  return utf8(`${tokenMark}${encodeBytes(utf8(agentId))}.`);
}

/** Returns the token of a value. Only the key of the agent can restore the value. */
export async function tokenOf(key: DataKey, agentId: string, bytes: Uint8Array, shown = ""): Promise<string> {
  const data = await key.encrypt(bytes, contextOf(agentId, key.id));
  return `${shown}${tokenMark}${[utf8(agentId), utf8(key.id), data].map(encodeBytes).join(".")}]`;
}

/**
 * Returns the bytes of a token in the log of an agent. The token must belong to the agent, or to an agent of which it is
 * a fork. Otherwise an archive could contain the token of another agent, and its run would show the value.
 *
 * @throws KeyMissingError, AuthenticationFailedError
 */
export async function bytesOfToken(keys: DataKeys, token: string, ofAgent: string): Promise<Uint8Array> {
  const [agentId, keyId, data] = partsOf(token);
  if (agentId !== ofAgent && !(await keys.originalsOf(ofAgent)).includes(agentId))
    throw new AuthenticationFailedError(ofAgent, undefined, "a redacted value belongs to another agent");
  const key = await keys.reading(agentId, keyId);
  const bytes = data && (await key?.decrypt(data, contextOf(agentId, keyId)));
  if (bytes) return bytes;
  throw new AuthenticationFailedError(agentId, undefined, "a redacted value was changed, or has another key");
}

/** Returns the agent whose key encrypted a token. */
export function agentOfToken(token: string): string {
  return partsOf(token)[0];
}

function partsOf(token: string): readonly [agentId: string, keyId: string, data: Uint8Array | undefined] {
  const [, agent = "", key = "", data = ""] = form.exec(token) ?? [];
  const text = (part: string) => fromUtf8(decodeBytes(part) ?? new Uint8Array());
  return [text(agent), text(key), decodeBytes(data)];
}

function contextOf(agentId: string, keyId: string): string {
  return JSON.stringify(["agent-persistence redacted value", 1, agentId, keyId]);
}
