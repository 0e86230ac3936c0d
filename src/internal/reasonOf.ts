/** Returns the message of any thrown value, even if its getters throw. */
export function reasonOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message === "" ? String(thrown.name) : `${thrown.message}`;
    if (typeof thrown === "string") return thrown;
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return `a value that cannot be shown (${typeof thrown})`;
  }
}
