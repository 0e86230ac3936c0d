import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { cancelMove, exportAgent, finishMove, importAgent, type MoveReceipt } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { finish, payer } from "../../transfer/movedAgents.ts";
import { statusIn } from "./statusIn.ts";

/**
 * Begins a move and calls it off, moves an agent, finishes the move and lets the agent come to its end. It goes on with what
 * an earlier process has begun.
 */
const [directory = ""] = process.argv.slice(2);
const storage = (name: string) =>
  new FilePersistenceStorageProvider({ directory: join(directory, name), inlineThresholdBytes: 300 });
const [source, target] = [storage("source"), storage("target")];
const receiptPath = join(directory, "receipt");

if ((await statusIn(target)) === undefined) {
  for await (const _ of exportAgent(source, "order-7", { move: true }));
  await cancelMove(source, "order-7");
  const { receipt } = await importAgent(target, exportAgent(source, "order-7", { move: true }));
  writeFileSync(receiptPath, JSON.stringify(receipt));
}
const receipt = storedReceipt();
if (receipt) await finishMove(source, "order-7", receipt);
else await payer(source).feature.deleteAgent("order-7");
const { output } = (await finish(payer(target))) as { readonly output?: unknown };
writeSync(1, JSON.stringify({ output, isAway: [undefined, "moved"].includes(await statusIn(source)) }));

/** `undefined`: the process that had it was killed before it was stored. */
function storedReceipt(): MoveReceipt | undefined {
  const text = existsSync(receiptPath) ? readFileSync(receiptPath, "utf8") : "";
  return text.endsWith("}") ? (JSON.parse(text) as MoveReceipt) : undefined;
}
