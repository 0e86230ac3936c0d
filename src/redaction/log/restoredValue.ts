import type { DataKeys } from "../../encryption/keys/DataKeys.ts";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { fromUtf8 } from "../../internal/bytes.ts";
import { maximumDepth } from "../../internal/frozenCopy.ts";
import { agentOfToken, bytesOfToken, isToken, tokenMark } from "./redactedToken.ts";

/** The stored form of a rich value, within a record that restates others, is deeper than the value. */
const deepest = 4 * maximumDepth;

/**
 * Returns a copy of a value in the log of an agent, with the values of all tokens.
 *
 * @param found - called with the value of each token.
 * @throws KeyMissingError
 * @throws AuthenticationFailedError for a token that does not belong to the agent, and for a value that is nested deeper
 * than any stored value.
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
  return [...tokens].some((token) => agentOfToken(token) === agentId);
}

/** Returns whether the value has the depth of a stored value. Does not recurse, because a forged value can be deep. */
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

/** Uses one stack frame for each level. */
function withValues(value: unknown, values: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return values.has(value) ? structuredClone(values.get(value)) : value;
  if (typeof value !== "object" || value === null) return value;
  const copies: (readonly [string, unknown])[] = [];
  for (const [key, item] of Object.entries(value)) copies.push([key, withValues(item, values)]);
  return Array.isArray(value) ? copies.map(([, item]) => item) : Object.fromEntries(copies);
}
