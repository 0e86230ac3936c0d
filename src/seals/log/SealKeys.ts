/** Signs the bytes of a seal, for example with Ed25519. */
export type Sign = (bytes: Uint8Array) => Uint8Array | PromiseLike<Uint8Array>;

/** Returns whether a signature of {@link Sign} belongs to the bytes. */
export type Verify = (bytes: Uint8Array, signature: Uint8Array) => boolean | PromiseLike<boolean>;

/** The newest seal of a log, in the form that `keepAt` keeps. */
export interface KeptSeal {
  readonly agentId: string;
  readonly generation: number;
  /** The position of the append with the seal. */
  readonly position: number;
  /** The SHA-256 of the seal, in base64url. */
  readonly hash: string;
  /** Set before the log is deleted. The log may then be empty, because a crash can prevent `dropped`. */
  readonly dropping?: true;
  /** Set if the log was deleted at this position. */
  readonly dropped?: true;
}

/**
 * A place for the newest seal of each log. A person who can change the storage must not be able to change this place.
 */
export interface SealKeeper {
  /** Returns the newest seal of a log, or `undefined` if none was written. */
  read(agentId: string): Promise<KeptSeal | undefined>;
  /**
   * Keeps a seal. Called when the append with the seal is durable. `append` waits for this call. Because a replaced
   * owner may write late, ignore a seal if the kept seal has a higher generation, or a higher position in the same
   * generation.
   */
  write(agentId: string, seal: KeptSeal): Promise<void>;
  /** Lists the ids of all kept seals. If the method is missing, `verifySeals` does not find agents that were removed. */
  agentIds?(): AsyncIterable<string> | Iterable<string>;
}
