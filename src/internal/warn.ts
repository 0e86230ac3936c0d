interface WarningProcess {
  readonly emitWarning?: (message: string, options: { readonly type: string; readonly code: string }) => void;
}

/** Emits a process warning about a problem that does not fail the caller. Does nothing if the platform has none. */
export function warn(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: WarningProcess };
  process?.emitWarning?.(message, { type: "AgentPersistenceWarning", code });
}

const given = new Set<string>();

/** Like {@link warn}, but only once per message. Remembers all messages, so use it only for a few. */
export function warnOnce(code: string, message: string): void {
  if (given.has(message)) return;
  given.add(message);
  warn(code, message);
}
