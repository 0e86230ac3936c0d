interface WarningProcess {
  readonly emitWarning?: (message: string, options: { readonly type: string; readonly code: string }) => void;
}

/** Emits a process warning about a problem that does not fail the caller; does nothing on platforms without warnings. */
export function warn(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: WarningProcess };
  process?.emitWarning?.(message, { type: "AgentPersistenceWarning", code });
}

const given = new Set<string>();

/** {@link warn}, once in this process for each message, of which there are few. */
export function warnOnce(code: string, message: string): void {
  if (given.has(message)) return;
  given.add(message);
  warn(code, message);
}
