import { generateKeyPairSync, sign, verify } from "node:crypto";
import type { RecordLogHarness } from "../../src/testing.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import type { RecordLog } from "../../src/storage/RecordLog.ts";
import type { KeptSeal, SealKeeper, Sign, Verify } from "../../src/seals/log/Seal.ts";
import { SealingRecordLog } from "../../src/seals/log/SealingRecordLog.ts";

/** A pair of functions for one Ed25519 key. */
export function newKey(): { readonly sign: Sign; readonly verify: Verify; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    sign: (bytes) => sign(null, bytes, privateKey),
    verify: (bytes, signature) => verify(null, bytes, publicKey, signature),
    pem: publicKey.export({ type: "spki", format: "pem" }) as string,
  };
}

export const testKey = newKey();

/** A place outside the storage, in memory. */
export class MemoryKeeper implements SealKeeper {
  readonly seals = new Map<string, KeptSeal>();

  async read(agentId: string): Promise<KeptSeal | undefined> {
    return this.seals.get(agentId);
  }

  async write(agentId: string, seal: KeptSeal): Promise<void> {
    if (!isLater(this.seals.get(agentId), seal)) this.seals.set(agentId, seal);
  }

  agentIds(): Iterable<string> {
    return this.seals.keys();
  }
}

/** Whether a kept seal is later than another one, which a replaced owner wrote. */
export function isLater(kept: KeptSeal | undefined, { generation, position }: KeptSeal): boolean {
  if (!kept) return false;
  return kept.generation > generation || (kept.generation === generation && kept.position > position);
}

interface SealedLogOptions {
  readonly key?: Pick<typeof testKey, "sign" | "verify">;
  readonly every?: number;
  readonly keepAt?: SealKeeper;
}

export function sealedLog(log: RecordLog, options: SealedLogOptions = {}): SealingRecordLog {
  const { key = testKey, every = 3, keepAt } = options;
  const { sign: signed, verify: verified } = key;
  return new SealingRecordLog(log, {
    sign: signed,
    verify: verified,
    every,
    keepAt,
    sha256: async () => nodeSha256,
  });
}

/** The harness of a log, sealed. Bytes are changed below the seals. */
export function sealedHarness(harness: RecordLogHarness): RecordLogHarness {
  const { reopen, log } = harness;
  const keepAt = new MemoryKeeper();
  return {
    ...harness,
    log: sealedLog(log, { keepAt }),
    reopen: typeof reopen === "function" ? async () => sealedLog(await reopen(), { keepAt }) : reopen,
  };
}
