import { writeSync } from "node:fs";
import { FileRecordLog } from "../../../../src/storage/file/FileRecordLog.ts";

// Says each position only after it was acknowledged.
const [, , directory = ""] = process.argv;
const owned = await new FileRecordLog({ directory }).open("a", {
  host: "child",
  processId: process.pid,
  nonce: "child",
});
for (;;) {
  const position = await owned.append(
    { id: `1-${owned.position + 1}`, records: [{ kind: "message" }] },
    owned.position,
  );
  writeSync(1, `${position}\n`);
}
