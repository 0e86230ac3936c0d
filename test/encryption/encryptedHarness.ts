import { alterByte } from "../testing/conformance/RememberingSha256.ts";
import type { RecordLogHarness } from "../../src/testing.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import type { RecordLog } from "../../src/storage/RecordLog.ts";
import { DataKeys } from "../../src/encryption/keys/DataKeys.ts";
import { KeyLog } from "../../src/encryption/keys/KeyLog.ts";
import type { KeySource } from "../../src/storage/KeySource.ts";
import { EncryptedRecordLog } from "../../src/encryption/log/EncryptedRecordLog.ts";
import { blobNameOf } from "../../src/encryption/log/sealedRecords.ts";
import { defaultPlainFields } from "../../src/encryption/log/sealedSummary.ts";

/** Keys of 32 bytes that depend on their id alone. */
export function testKeys(current: string, ...older: string[]): KeySource {
  const ids = [current, ...older];
  return { current, get: (keyId) => (ids.includes(keyId) ? keyOf(keyId) : undefined) };
}

export function keyOf(keyId: string): Uint8Array {
  const bytes = new Uint8Array(32).fill(7);
  bytes.set(new TextEncoder().encode(keyId).subarray(0, 32));
  return bytes;
}

const sha256 = async () => nodeSha256;

export function encryptedLog(log: RecordLog, keys: KeySource = testKeys("first"), ofKeys = log): EncryptedRecordLog {
  const dataKeys = new DataKeys(new KeyLog(ofKeys, sha256), keys);
  return new EncryptedRecordLog(log, { keys: dataKeys, plain: defaultPlainFields, sha256 });
}

/** The harness of a log, encrypted. Bytes are changed below the encryption. */
export function encryptedHarness(harness: RecordLogHarness): RecordLogHarness {
  const { reopen, log: stored } = harness;
  const log = encryptedLog(stored);
  return {
    ...harness,
    log,
    reopen: typeof reopen === "function" ? async () => encryptedLog(await reopen()) : reopen,
    alterBlob: async (agentId, reference) => {
      const key = await log.keys.find(agentId);
      const name = key ? await blobNameOf(key, reference) : reference;
      const bytes = await stored.blobs.getNamed?.(agentId, name);
      if (!bytes) throw new Error("there is nothing to alter");
      alterByte(bytes);
      await stored.blobs.putNamed?.(agentId, name, bytes);
    },
  };
}
