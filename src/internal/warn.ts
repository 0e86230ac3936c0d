interface WarningProcess {
  readonly emitWarning?: (message: string, options: { readonly type: string; readonly code: string }) => void;
}

/** Emits a process warning about a problem that does not fail the caller, where the platform has warnings. */
export function warn(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: WarningProcess };
  process?.emitWarning?.(message, { type: "AgentPersistenceWarning", code });
}

const given = new Set<string>();

/** Like {@link warn}, but only once per message in this process. Only for a small number of messages. */
export function warnOnce(code: string, message: string): void {
  if (given.has(message)) return;
  given.add(message);
  warn(code, message);
}
