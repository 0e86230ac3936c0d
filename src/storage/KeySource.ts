import type { z } from "zod";
import { customSchema, functionSchema, nonEmptyString } from "../internal/options/optionSchemas.ts";

/**
 * Encrypts data keys, for example with a key management service. The plain data keys never reach the storage. Data of
 * many agents is read with few calls, because a process keeps the data keys that it used last.
 */
export interface WrappingKey {
  /** Encrypts a data key of 32 bytes. @param context identifies the key, as additional authenticated data */
  wrap(dataKey: Uint8Array, context: string): Promise<Uint8Array>;
  /**
   * Returns the data key that `wrap` encrypted with the same context, or `undefined` for any other bytes. Reject only
   * if the service failed, because lists then also fail. Called whenever an agent is opened.
   */
  unwrap(wrapped: Uint8Array, context: string): Promise<Uint8Array | undefined>;
}

/** A key of 32 bytes for AES-256-GCM, or a {@link WrappingKey}. */
export type EncryptionKey = Uint8Array | WrappingKey;

/** The keys that encrypt the data keys of agents. */
export interface KeySource {
  /** The id of the key for new data keys. It is stored with each data key, so it must not be secret. */
  readonly current: string;
  /** Returns a key by its id. `undefined` if the source does not have it. */
  get(keyId: string): EncryptionKey | undefined | PromiseLike<EncryptionKey | undefined>;
}

export const keySourceSchema: z.ZodType<KeySource> = customSchema<KeySource>(
  "an object with `current`, the id of a key, and the function `get`",
  (value) => {
    const { current, get } = Object(value) as Partial<KeySource>;
    return nonEmptyString.safeParse(current).success && functionSchema().safeParse(get).success;
  },
);
