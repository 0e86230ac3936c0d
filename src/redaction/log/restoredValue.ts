import type { DataKeys } from "../../encryption/keys/DataKeys.ts";
import { fromUtf8 } from "../../internal/bytes.ts";
import { agentOfToken, bytesOfToken, isToken, tokenMark } from "./redactedToken.ts";

/**
 * Returns a copy of a value in the log of an agent, with the values of all tokens.
 *
 * @param found - called with the value of each token.
 * @throws KeyMissingError, AuthenticationFailedError
 */
export async function restoredValue<Value>(
  keys: DataKeys,
  agentId: string,
  value: Value,
  found?: (restored: unknown) => void,
): Promise<Value> {
  const tokens = new Set<string>();
  addTokens(value, tokens);
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

function addTokens(value: unknown, into: Set<string>): void {
  if (typeof value === "string") {
    if (value.includes(tokenMark) && isToken(value)) into.add(value);
  } else if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) addTokens(item, into);
  }
}

function withValues(value: unknown, values: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === "string") return values.has(value) ? structuredClone(values.get(value)) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withValues(item, values));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withValues(item, values)]));
}
