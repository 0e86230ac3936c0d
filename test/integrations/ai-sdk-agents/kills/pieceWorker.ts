import { writeSync } from "node:fs";
import { pieceDesk, type PieceDeskOptions } from "./pieceDesk.ts";

/** A server that runs or resumes one run, whose model writes other words in each process. */
const options = JSON.parse(process.argv[2] ?? "{}") as PieceDeskOptions;
const desk = await pieceDesk({ ...options, onRequest: () => writeSync(1, "asked ") });
const agent = desk.for("a", { runId: "r" });
const stream = await agent.stream({ prompt: "go" });
await stream.consumeStream();
await stream.text;
writeSync(1, "completed");
// Connections would keep the process alive.
process.exit();
