import type { DataKeys, DataKey } from "../../encryption/keys/DataKeys.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";
import { maximumDepth } from "../../internal/frozenCopy.ts";

/** The end of a token, which replaces a redacted value: the agent, the id of its key, and the encrypted value. */
const form = /\[redacted:([\w-]+)\.([\w-]+)\.([\w-]+)\]$/;

/** The start of the encrypted part of a token. */
export const tokenMark = "[redacted:";

export function isToken(text: string): boolean {
  return text.includes(tokenMark) && form.test(text);
}

/** Returns the bytes that every token of an agent contains. */
export function startOfTokens(agentId: string): Uint8Array {
  return utf8(`${tokenMark}${toBase64Url(utf8(agentId))}.`);
}

/** Returns a token for a value. Only the key of the agent can decrypt the token. */
export async function tokenOf(key: DataKey, agentId: string, bytes: Uint8Array, shown = ""): Promise<string> {
  const data = await key.encrypt(bytes, contextOf(agentId, key.id));
  return `${shown}${tokenMark}${[utf8(agentId), utf8(key.id), data].map(toBase64Url).join(".")}]`;
}

/**
 * Decrypts a token, which must belong to this agent or to an agent from which it was forked. An archive could contain a
 * token of another agent.
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

function partsOf(token: string): readonly [agentId: string, keyId: string, data: Uint8Array | undefined] {
  const [, agent = "", key = "", data = ""] = form.exec(token) ?? [];
  const text = (part: string) => fromUtf8(fromBase64Url(part) ?? new Uint8Array());
  return [text(agent), text(key), fromBase64Url(data)];
}

function contextOf(agentId: string, keyId: string): string {
  return JSON.stringify(["agent-persistence redacted value", 1, agentId, keyId]);
}

/** The maximum depth of a value, which is larger in its stored form and in repeated records. */
const deepest = 4 * maximumDepth;

/**
 * Returns a copy of a value with decrypted tokens. Calls `found` with each decrypted value.
 *
 * @throws KeyMissingError, AuthenticationFailedError for a foreign token, or a value deeper than any stored value
 */
export async function restoredValue<Value>(
  keys: DataKeys,
  agentId: string,
  value: Value,
  found?: (restored: unknown) => void,
): Promise<Value> {
  const tokens = new Set<string>();
  if (!addTokens(value, tokens))
    throw new AuthenticationFailedError(agentId, undefined, "its values are nested too deeply");
  if (tokens.size === 0) return value;
  const values = new Map<string, unknown>();
  for (const token of tokens) {
    const restored: unknown = JSON.parse(fromUtf8(await bytesOfToken(keys, token, agentId)));
    values.set(token, restored);
    found?.(restored);
  }
  return withValues(value, values) as Value;
}

/** Returns whether a value contains a token with the key of an agent. */
export function hasTokensOf(agentId: string, value: unknown): boolean {
  const tokens = new Set<string>();
  addTokens(value, tokens);
  return [...tokens].some((token) => partsOf(token)[0] === agentId);
}

/** Collects tokens. Returns `false` if a value is too deep. Does not recurse, because a forged value can be deep. */
function addTokens(value: unknown, into: Set<string>): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0 && depth <= deepest; depth++) {
    for (const item of level) if (typeof item === "string" && item.includes(tokenMark) && isToken(item)) into.add(item);
    level = level.filter(isObject).flatMap((item) => Object.values(item) as readonly unknown[]);
  }
  return level.length === 0;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function withValues(value: unknown, values: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return values.has(value) ? structuredClone(values.get(value)) : value;
  if (typeof value !== "object" || value === null) return value;
  const copies: (readonly [string, unknown])[] = [];
  for (const [key, item] of Object.entries(value)) copies.push([key, withValues(item, values)]);
  return Array.isArray(value) ? copies.map(([, item]) => item) : Object.fromEntries(copies);
}
