interface WarningProcess {
  readonly emitWarning?: (message: string, options: { readonly type: string; readonly code: string }) => void;
}

/** Emits a process warning about a problem that does not fail the caller; does nothing on platforms without warnings. */
export function warn(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: WarningProcess };
  process?.emitWarning?.(message, { type: "AgentPersistenceWarning", code });
}
