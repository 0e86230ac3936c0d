import { DataKeys } from "../../src/encryption/keys/DataKeys.ts";
import { KeyLog } from "../../src/encryption/keys/KeyLog.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { RedactedRecordLog } from "../../src/redaction/log/RedactedRecordLog.ts";
import { SecretsOfAgents } from "../../src/redaction/values/KnownSecrets.ts";
import type { LogPersistenceStorageProvider } from "../../src/storage.ts";
import type { RecordLog } from "../../src/storage/RecordLog.ts";
import type { RecordLogHarness } from "../../src/testing.ts";
import { testKeys } from "../encryption/encryptedHarness.ts";

/** A redacted log. It redacts every text with an `e`, so that most records of a suite have redacted values. */
export function redactedLog(log: RecordLog, secrets = new SecretsOfAgents()): RedactedRecordLog {
  const keys = new DataKeys(new KeyLog(log, async () => nodeSha256), testKeys("first"));
  // A reason of a stop stays redacted.
  const text = (given: string) => (given.startsWith("cancelled") ? given : given.replaceAll("e", "*"));
  const rules = { paths: [["value"]], text };
  return new RedactedRecordLog(log, { keys, rules, secrets, sha256: async () => nodeSha256 });
}

/** The harness of a log, redacted. Bytes are changed below the redaction. */
export function redactedHarness(harness: RecordLogHarness): RecordLogHarness {
  const { reopen, log } = harness;
  return {
    ...harness,
    log: redactedLog(log),
    reopen: typeof reopen === "function" ? async () => redactedLog(await reopen()) : reopen,
  };
}

/** Returns the stored appends of an agent as text. */
export async function storedText({ log }: LogPersistenceStorageProvider, agentId = "a"): Promise<string> {
  const lines: Uint8Array[] = [];
  for await (const line of log.encodedAppends?.(agentId) ?? []) lines.push(line);
  return Buffer.concat(lines).toString();
}
