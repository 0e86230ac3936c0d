import { writeSync } from "node:fs";
import { destroyKey, encrypted, reencrypt } from "agent-persistence/encryption";
import { testKeys } from "../../encryption/encryptedHarness.ts";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { killableStorageAt } from "../everyCall/killableStorageAt.ts";

/** Changes the keys of an encrypted storage, and prints which deed is done. */
const [deed = "", place = ""] = process.argv.slice(2);
const storage = encrypted(await killableStorageAt(JSON.parse(place) as StoragePlace), {
  keys: testKeys("second", "first"),
});
if (deed === "destroy") await destroyKey(storage, "a");
else if (deed === "reencrypt") {
  for await (const { error } of reencrypt(storage)) if (error) throw error;
} else for (const agentId of ["a", "b"]) await (await storage.log.open(agentId, processOwner())).release();
writeSync(1, JSON.stringify(deed));
await storage.log.close();
