interface WarningProcess {
  readonly emitWarning?: (message: string, options: { readonly type: string; readonly code: string }) => void;
}

/** Tells whoever runs the program of something that went wrong beside the work; silent where the platform has no warnings. */
export function warn(code: string, message: string): void {
  const { process } = globalThis as { readonly process?: WarningProcess };
  process?.emitWarning?.(message, { type: "AgentPersistenceWarning", code });
}
