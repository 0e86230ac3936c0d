import type { Command } from "commander";
import { type Lazily, common, count, withAgent, writing } from "./commonOptions.ts";

const itsCode = "the agent's code; its storage is used";
const optional = `${itsCode}. Default: none, with --storage`;

export function writingCommands(program: Command, lazily: Lazily): void {
  agentCommands(program, lazily);
  dataCommands(program, lazily);
  taskCommands(program, lazily);
}

function agentCommands(program: Command, lazily: Lazily): void {
  withAgent(writing(program.command("rollback")), itsCode)
    .description("take an agent back to a checkpoint: messages, effects of tools, files")
    .argument("<agent>")
    .argument("<checkpoint>")
    .option("--preview", "only show what would be taken back; needs no --agent")
    .option("--leave", "go on where an inverse fails, and leave that effect")
    .action(lazily(async () => (await import("./writing/rollbackCommand.ts")).rollback));
  withAgent(writing(program.command("resume")), itsCode)
    .description("run an agent to its end, or until it waits")
    .argument("<agent>")
    .option("--checkpoint <checkpoint>", "begin a branch at this checkpoint")
    .option("--take-over", "run an agent that was imported as a copy")
    .action(lazily(async () => (await import("./writing/resumeCommand.ts")).resume));
  withAgent(writing(program.command("settle")), optional)
    .description("say what a tool call in doubt did; without a call, list them")
    .argument("<agent>")
    .argument("[call]")
    .option("--output <json>", "it succeeded, and returned this")
    .option("--error <message>", "it failed without effect")
    .option("--retry", "it is made again")
    .option("--unknown", "the run goes on without knowing")
    .action(lazily(async () => (await import("./writing/settleCommand.ts")).settle));
  withAgent(writing(program.command("answer")), optional)
    .description("answer what an agent asks; without a request, list them")
    .argument("[request]")
    .argument("[answer]", "as JSON")
    .option("--approve", "approve the tool call")
    .option("--reject <reason>", "reject it")
    .option("--by <name>", "who answers; kept with the answer")
    .action(lazily(async () => (await import("./writing/answerCommand.ts")).answer));
  withAgent(writing(program.command("prune")), itsCode)
    .description("delete what the retention policy of the agent does not keep")
    .argument("[agent]", "default: every agent")
    .option("--dry-run", "only show what would be deleted")
    .action(lazily(async () => (await import("./writing/pruneCommand.ts")).prune));
  withAgent(writing(program.command("fork")), optional)
    .description("make an independent copy of an agent under another id")
    .argument("<agent>")
    .argument("<new-agent>")
    .option("--checkpoint <checkpoint>", "the checkpoint to begin at; default: now")
    .action(lazily(async () => (await import("./writing/forkCommand.ts")).fork));
}

function dataCommands(program: Command, lazily: Lazily): void {
  writing(program.command("export"))
    .description("write an agent to a file")
    .argument("<agent>")
    .option("-o, --out <file>", "the file, which must not be there yet")
    .option("--checkpoint <checkpoint>", "the checkpoint to end with; default: all")
    .option("--gzip", "compress it")
    .option("--move", "move the agent: it runs here no more")
    .action(lazily(async () => (await import("./writing/exportCommand.ts")).exportCommand));
  writing(program.command("import"))
    .description("make an agent of a file that export wrote")
    .argument("<file>")
    .option("--as <agent>", "another id, which makes it a fork")
    .option("--receipt <file>", "write the receipt for move finish")
    .option("--trust-approvals", "let approvals in the file count; default: the agent asks for them again")
    .option("--max-part-bytes <n>", "the largest line or value of the file; default: 16777216", count)
    .action(lazily(async () => (await import("./writing/importCommand.ts")).importCommand));
  const move = program.command("move").description("end a move that export --move began");
  writing(move.command("finish"))
    .description("the agent has arrived elsewhere")
    .argument("<agent>")
    .argument("<receipt>", "the file that import --receipt wrote")
    .action(lazily(async () => (await import("./writing/moveCommand.ts")).moveFinish));
  writing(move.command("cancel"))
    .description("the agent has not arrived, and runs here again")
    .argument("<agent>")
    .action(lazily(async () => (await import("./writing/moveCommand.ts")).moveCancel));
  writing(program.command("salvage"))
    .description("copy what is intact of a damaged agent in files into another folder")
    .argument("<agent>")
    .option("--to <folder>", "the folder to copy into")
    .action(lazily(async () => (await import("./writing/salvageCommand.ts")).salvage));
}

function taskCommands(program: Command, lazily: Lazily): void {
  const load = () => import("./writing/tasksCommands.ts");
  const tasks = program.command("tasks").description("list tasks, and change what becomes of them");
  withAgent(common(tasks.command("list")), optional)
    .description("list the tasks by priority")
    .option("--status <status>", "only tasks in this status")
    .option("--limit <number>", "the most tasks to list", count, 100)
    .action(lazily(async () => (await load()).listTasks));
  const change = (name: "pause" | "resume" | "cancel" | "retry", description: string): Command =>
    withAgent(writing(tasks.command(name)), optional)
      .description(description)
      .argument("<task>")
      .action(lazily(async () => (await load()).changeTask(name)));
  change("pause", "pause a task until it is resumed").option("--reason <reason>", "why");
  change("resume", "let a paused or waiting task go on");
  change("cancel", "end a task for good").option("--reason <reason>", "why");
  change("retry", "queue a failed task again");
}
