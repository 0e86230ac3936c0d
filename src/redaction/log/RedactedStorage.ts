import type { z } from "zod";
import { encryptedStreams } from "../../encryption/encryptedStreams.ts";
import { LogPersistenceStorageProvider } from "../../storage/LogPersistenceStorageProvider.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import type { StreamStore } from "../../streams/store/StreamStore.ts";

/** A tool of any runtime. */
export interface SecretTool {
  readonly name: string;
  readonly inputSchema: z.core.$ZodType;
}

export class RedactedStorage extends LogPersistenceStorageProvider {
  /** Redacts the fields that `secret()` marks in the schemas of tools. */
  readonly redactInputsOf: (tools: readonly SecretTool[]) => void;

  constructor(
    log: RecordLog,
    options: NonNullable<ConstructorParameters<typeof LogPersistenceStorageProvider>[1]>,
    redactInputsOf: (tools: readonly SecretTool[]) => void,
  ) {
    super(log, options);
    this.redactInputsOf = redactInputsOf;
  }

  /** Encrypts the chunks of responses as a whole, because a secret can be split between two chunks. */
  encryptedStreams(store: StreamStore): StreamStore {
    return encryptedStreams(store, this);
  }
}
