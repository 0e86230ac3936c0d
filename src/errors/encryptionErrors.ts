import { AgentPersistenceError, type ErrorCause, quoted } from "./AgentPersistenceError.ts";

/** The stored data of an agent is encrypted with a key that is not available. The data is unchanged. */
export class KeyMissingError extends AgentPersistenceError {
  override readonly code = "key_missing";

  constructor(
    /** The id of the agent, thread or session. */
    readonly agentId: string,
    /** The id of the missing key in the key source. `undefined` if the data key of the agent is missing. */
    readonly keyId: string | undefined,
  ) {
    super(
      keyId === undefined
        ? `The data of agent ${quoted(agentId)} is encrypted, and its data key is not in the storage. ` +
            `If the key was destroyed, the data is lost and the agent can only be deleted. Otherwise restore the log that contains the data key from a backup.`
        : `The data of agent ${quoted(agentId)} is encrypted with the key ${quoted(keyId)}, which is missing. ` +
            `Make keys.get() return this key. For an archive, pass its keys as the option keys or as --archive-keys.`,
    );
  }
}

/** Stored data was changed, moved to another position or agent, or stored without the key. */
export class AuthenticationFailedError extends AgentPersistenceError {
  override readonly code = "authentication_failed";

  constructor(
    /** The id of the agent, thread or session. */
    readonly agentId: string,
    /** The position of the append. `undefined` for data outside of the log. */
    readonly position: number | undefined,
    /** A description of the data and the problem. */
    readonly found: string,
    options?: ErrorCause,
  ) {
    const place = position === undefined ? "" : ` at position ${position}`;
    super(
      `The stored data of agent ${quoted(agentId)}${place} cannot be authenticated: ${found}. ` +
        `Find out who changed the storage, and restore it from a backup.`,
      options,
    );
  }
}

/** The agent needs a redacted value later, so `redaction()` requires a `vault`. No feature was installed. */
export class VaultRequiredError extends AgentPersistenceError {
  override readonly code = "vault_required";

  constructor(
    /** The tool whose input or output contains the value. `undefined` for values of no known tool, and for texts. */
    readonly toolName: string | undefined,
    /** The redacted path. `undefined` for texts. */
    readonly path: string | undefined,
    readonly reason: string,
  ) {
    const tool = toolName === undefined ? "" : ` of tool ${quoted(toolName)}`;
    const value = path === undefined ? "The texts that `text` changes" : `The values at ${quoted(path)}${tool}`;
    super(
      `${value} cannot be removed before they are stored: ${reason}. ` +
        "Give redaction() a `vault`, which keeps them encrypted.",
    );
  }
}
