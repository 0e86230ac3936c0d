import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { TaskStatus } from "../checkpoint/status/TaskStatus.ts";
import { agentStatuses } from "../inspect/view/AgentView.ts";
import { CommandFailure, type ExitReason } from "./terminal/CommandFailure.ts";
import type { Session, WritingOptions } from "./session/Session.ts";
import type { CommandIo } from "./terminal/CommandIo.ts";
import { withoutDistantSuggestion } from "./terminal/failureReport.ts";
import { visibleLines } from "./terminal/visibleText.ts";

const itsCode = "the agent's code. The command uses the storage of this agent";
const optional = `${itsCode}. Default: none, with --storage`;

const where = `
The agents are at an address: file:<folder>, sqlite:<file>, postgres://<user>@<host>/<database> or dynamodb:<table>.
The default is AGENT_PERSISTENCE_STORAGE, otherwise the nearest folder .agent-persistence here or above.
You may shorten an id to a unique prefix.`;

/**
 * Builds the parser with all commands. The code of a command is loaded when it is called.
 *
 * @param isForPrograms whether the output is JSON. The parser then throws errors without printing them.
 */
export function commandLine(io: CommandIo, isForPrograms: boolean, onEnd: (reason: ExitReason) => void): Command {
  const lazily: Lazily =
    (load) =>
    async (...given) => {
      const all = Object.entries((given.at(-1) as Command).optsWithGlobals());
      const options = Object.fromEntries(all.map(([name, value]) => [name, unmarked(value)]));
      const words = given.slice(0, -2).map(unmarked);
      const [{ Session }, action] = await Promise.all([import("./session/Session.ts"), load()]);
      await using session = new Session(io, options as WritingOptions);
      onEnd((await action(session, options as never, ...(words as never[]))) ?? "done");
    };
  const program = new Command("agent-persistence")
    .description("Shows durable agents, and controls them.")
    .version(io.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "describe a command and its options")
    .addHelpText("after", where)
    .showHelpAfterError("(agent-persistence --help lists the commands and their options)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void (isForPrograms || io.err.write(visibleLines(withoutDistantSuggestion(text)))),
      getOutHelpWidth: () => io.out.columns ?? 100,
      getErrHelpWidth: () => io.err.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  readingCommands(program, lazily);
  runCommands(program, lazily);
  agentCommands(program, lazily);
  dataCommands(program, lazily);
  taskCommands(program, lazily);
  completionCommands(program, lazily);
  projectCommands(program, lazily);
  return program;
}

function completionCommands(program: Command, lazily: Lazily): void {
  program
    .command("completion")
    .description("print the script that completes commands, options and ids in a shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .action(lazily(async () => (await import("./complete.ts")).completion));
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action(lazily(async () => (await import("./complete.ts")).completeFor(program)));
}

function projectCommands(program: Command, lazily: Lazily): void {
  program
    .command("init")
    .description("write a small project with an agent, its test and its storage")
    .argument("[folder]", "default: the working directory")
    .addOption(
      new Option("-s, --storage <kind>", "where it keeps agents")
        .choices(["file", "sqlite", "postgres"])
        .default("file"),
    )
    .option("--json", "answer in JSON, for programs")
    .option("--no-color", "answer without color")
    .action(lazily(async () => (await import("./writing/initCommand.ts")).init));
}

function readingCommands(program: Command, lazily: Lazily): void {
  common(program.command("list"))
    .description("list the agents, with their statuses")
    .addOption(new Option("--status <status...>", "only agents in these statuses").choices(agentStatuses))
    .option("--limit <number>", "the maximum number of agents to list; 0: all", count, 100)
    .option("--after <cursor>", "only agents after this cursor, which --json shows")
    .action(lazily(async () => (await import("./reading/list.ts")).list));
  common(program.command("show <agent>"))
    .description("show an agent, or one of its checkpoints with messages, input and storage")
    .argument("[checkpoint]", "the id, the beginning of the id, or the name of a checkpoint")
    .option("--messages <number>", "the maximum number of messages; 0: all", count, 20)
    .action(lazily(async () => (await import("./reading/show.ts")).show));
  common(program.command("tree <agent>"))
    .description("show the checkpoints as a tree, with branches and moves")
    .option("--last <number>", "only the newest checkpoints; 0: all", count, 50)
    .action(lazily(async () => (await import("./reading/tree.ts")).tree));
  common(program.command("log <agent>"))
    .description("show the records as they are stored, oldest first")
    .option("--after <position>", "only records after this position", count, 0)
    .option("--limit <number>", "stop after the append with which this number of records is shown; 0: all", count, 0)
    .option("--kind <kind...>", "only records of these kinds")
    .option("-f, --follow", "continue with new records until you stop it")
    .action(lazily(async () => (await import("./reading/log.ts")).log));
  common(program.command("diff <agent>"))
    .description("show the differences between two checkpoints")
    .argument("<from>", "a checkpoint")
    .argument("[to]", "another checkpoint; default: the newest")
    .action(lazily(async () => (await import("./reading/diff.ts")).diff));
  common(program.command("verify"))
    .description("read all data of every agent, and report damage")
    .argument("[agent...]", "default: every agent")
    .option("--since <head>", "a known checkpoint, such as 2-7 or 2-7@<time>, or a file with one per line, as JSON")
    .option("--key <file>", "a PEM file with public keys; also compares the logs with their seals")
    .action(lazily(async () => (await import("./reading/verify.ts")).verify));
  common(program.command("ui"))
    .description("write the timeline of an agent to a web page, or serve the timelines of all agents, live")
    .argument("[agent]", "default, without --out: every agent")
    .option("-o, --out <file>", "write one self-contained page; replaces an existing file", fileToWrite)
    .option("--redact <path...>", "hide the values at these paths, such as user.email")
    .option("--show-secrets", "show values that look like secrets")
    .option("--last <number>", "only the newest checkpoints; 0: all", count, 0)
    .option("--prices <file>", "show costs, by a JSON file with the prices of a million tokens")
    .option("--port <number>", "the port on this machine; 0: any free port", count, 0)
    .action(lazily(async () => (await import("./reading/ui.ts")).ui));
  withAgent(common(program.command("mcp")), optional)
    .description("serve the agents to an assistant, as an MCP server on standard input and output")
    .option("--allow-changes", "let the assistant answer requests and fork agents")
    .action(lazily(async () => (await import("./mcpCommand.ts")).mcp));
  // Users expect this command, but it does not exist.
  common(program.command("explain", { hidden: true }))
    .argument("[agent...]")
    .action(() => {
      const does = "show <agent> and list say why an agent makes no progress.";
      throw new CommandFailure("usage", `There is no command explain: ${does}`);
    });
}

function runCommands(program: Command, lazily: Lazily): void {
  withAgent(common(program.command("replay")), itsCode)
    .description("run a stored run again in memory, without models and tools, and show the first difference")
    .argument("[agent]", "default: the newest run of every agent")
    .option("--run <run>", "the run; default: the newest")
    .option("--from <checkpoint>", "begin at this checkpoint, on any line")
    .addOption(new Option("--model <kind>", "recorded responses, or live requests").choices(["recorded", "live"]))
    .option("--llm-model <name>", "the name of the model in live requests")
    .option("--system-prompt <text>", "replace the system prompt")
    .addOption(
      new Option("--on-unrecorded-call <what>", "execute: run tools without effects").choices(["stop", "execute"]),
    )
    .option("-o, --out <file>", "also write a web page with both runs; replaces an existing file", fileToWrite)
    .action(lazily(async () => (await import("./reading/replay.ts")).replay));
  common(program.command("fixture <agent>"))
    .description("write a run to a file for tests, with secrets hidden")
    .option("--run <run>", "the run; default: the newest")
    .option("-o, --out <file>", "the file; replaces an existing file", fileToWrite)
    .option("--redact <path...>", "hide the values at these paths, such as user.email")
    .option("--show-secrets", "keep values that look like secrets")
    .action(lazily(async () => (await import("./reading/fixture.ts")).fixture));
  common(program.command("compare <agent>"))
    .description("show the differences between two runs: steps, calls, messages, tokens, time")
    .argument("[other]", "another agent; default: the same, with --other-run")
    .option("--run <run>", "the run of <agent>; default: the newest")
    .option("--other-run <run>", "the run of [other]; default: the newest")
    .option("-o, --out <file>", "also write a web page; replaces an existing file", fileToWrite)
    .option("--prices <file>", "show costs, by a JSON file with the prices of a million tokens")
    .action(lazily(async () => (await import("./reading/compare.ts")).compare));
}

function agentCommands(program: Command, lazily: Lazily): void {
  withAgent(writing(program.command("rollback <agent> <checkpoint>")), itsCode)
    .description("roll an agent back to a checkpoint: messages, effects of tools, files")
    .option("--preview", "only show what would be reverted; needs no --agent")
    .option("--leave", "if an inverse fails, leave that effect and continue")
    .action(lazily(async () => (await import("./writing/rollbackCommand.ts")).rollback));
  withAgent(writing(program.command("resume <agent>")), itsCode)
    .description("run an agent until it ends or waits")
    .option("--checkpoint <checkpoint>", "begin a branch at this checkpoint")
    .option("--take-over", "run an agent that was imported as a copy")
    .action(lazily(async () => (await import("./writing/resumeCommand.ts")).resume));
  withAgent(writing(program.command("stop <agent>")), optional)
    .description("pause the run of an agent, in any process")
    .option("--reason <reason>", "why")
    .action(lazily(async () => (await import("./writing/stopCommands.ts")).stop));
  withAgent(writing(program.command("cancel <agent>")), optional)
    .description("end the run of an agent for good, in any process")
    .option("--reason <reason>", "why")
    .action(lazily(async () => (await import("./writing/stopCommands.ts")).cancel));
  withAgent(writing(program.command("settle <agent> [call]")), optional)
    .description("settle a tool call in doubt or an inverse of an open rollback; without a call, list them")
    .option("--output <json>", "the call succeeded and returned this")
    .option("--error <message>", "the call failed without effect")
    .option("--retry", "the call is made again")
    .option("--unknown", "the run continues without an outcome")
    .action(lazily(async () => (await import("./writing/settleCommand.ts")).settle));
  withAgent(writing(program.command("answer [request]")), optional)
    .description("answer a request of an agent; without a request, list the open requests")
    .argument("[answer]", "as JSON")
    .option("--approve", "approve the tool call")
    .option("--reject <reason>", "reject the request")
    .option("--by <name>", "the person who answers; stored with the answer")
    .action(lazily(async () => (await import("./writing/answerCommand.ts")).answer));
  withAgent(writing(program.command("prune")), itsCode)
    .description("delete the data that the agent's retention policy does not keep")
    .argument("[agent]", "default: every agent")
    .option("--dry-run", "only show what would be deleted")
    .action(lazily(async () => (await import("./writing/pruneCommand.ts")).prune));
  withAgent(writing(program.command("fork <agent> <new-agent>")), optional)
    .description("make an independent copy of an agent under another id")
    .option("--checkpoint <checkpoint>", "the checkpoint to begin at; default: now")
    .action(lazily(async () => (await import("./writing/forkCommand.ts")).fork));
}

function dataCommands(program: Command, lazily: Lazily): void {
  withArchiveKeys(writing(program.command("export <agent>")), "writes")
    .description("write an agent to a file")
    .option("-o, --out <file>", "the file; it must not exist", fileToWrite)
    .option("--checkpoint <checkpoint>", "the checkpoint to end with; default: all")
    .option("--gzip", "compress the file")
    .option("--move", "move the agent: it can no longer run here")
    .action(lazily(async () => (await import("./writing/transferCommands.ts")).exportCommand));
  withArchiveKeys(writing(program.command("import <file>")), "reads")
    .description("import an agent from a file that export wrote")
    .option("--as <agent>", "another id; the import is then a fork")
    .option("--receipt <file>", "write the receipt for move finish", fileToWrite)
    .option("--trust-approvals", "accept the approvals in the file; default: the agent requests them again")
    .option("--max-part-bytes <n>", "the largest line or value of the file; default: 16777216", count)
    .action(lazily(async () => (await import("./writing/transferCommands.ts")).importCommand));
  withArchiveKeys(common(program.command("backup")), "writes")
    .description("copy all agents, threads and sessions into a folder")
    .argument("<folder>", "a new folder, or a folder with an earlier backup")
    .option("--remove-deleted", "remove archives from the folder if the storage no longer has the log")
    .action(lazily(async () => (await import("./writing/backupCommands.ts")).backup));
  withArchiveKeys(writing(program.command("restore")), "reads")
    .description("copy the agents of a backup into a storage")
    .argument("<folder>", "a folder that backup wrote")
    .action(lazily(async () => (await import("./writing/backupCommands.ts")).restore));
  writing(program.command("mark-restored"))
    .description("mark all agents as copies, after a restore with other tools")
    .action(lazily(async () => (await import("./writing/backupCommands.ts")).markAllRestored));
  const move = program.command("move").description("end a move that export --move started");
  writing(move.command("finish <agent>"))
    .description("the agent has arrived elsewhere")
    .argument("<receipt>", "the file that import --receipt wrote")
    .action(lazily(async () => (await import("./writing/transferCommands.ts")).moveFinish));
  writing(move.command("cancel <agent>"))
    .description("the agent has not arrived, and runs here again")
    .action(lazily(async () => (await import("./writing/transferCommands.ts")).moveCancel));
  writing(program.command("reencrypt"))
    .description("encrypt the data keys of all agents with the current key of --keys")
    .action(lazily(async () => (await import("./writing/reencryptCommand.ts")).reencryptCommand));
  writing(program.command("salvage <agent>"))
    .description("copy the intact part of a damaged agent in files into another folder")
    .option("--to <folder>", "the folder to copy into")
    .action(lazily(async () => (await import("./writing/salvageCommand.ts")).salvage));
}

function taskCommands(program: Command, lazily: Lazily): void {
  const load = () => import("./writing/tasksCommands.ts");
  const tasks = program.command("tasks").description("list tasks, and pause, resume, cancel or retry them");
  withAgent(common(tasks.command("list")), optional)
    .description("list the tasks by priority")
    .addOption(new Option("--status <status>", "only tasks in this status").choices(Object.values(TaskStatus)))
    .option("--limit <number>", "the maximum number of tasks to list; 0: all", count, 100)
    .action(lazily(async () => (await load()).listTasks));
  const change = (name: "pause" | "resume" | "cancel" | "retry", description: string): Command =>
    withAgent(writing(tasks.command(`${name} <task>`)), optional)
      .description(description)
      .action(lazily(async () => (await load()).changeTask(name)));
  change("pause", "pause a task until it is resumed").option("--reason <reason>", "why");
  change("resume", "continue a paused or waiting task");
  change("cancel", "end a task for good").option("--reason <reason>", "why");
  change("retry", "queue a failed task again");
}

/** The function of a command. Returns the reason for the exit code, unless the command succeeded. */
type Action = (session: Session, options: never, ...args: never[]) => Promise<ExitReason | void>;

/** Returns the parser's callback of a command, whose action is loaded at the first call. */
type Lazily = (load: () => Promise<Action>) => (...given: readonly unknown[]) => Promise<void>;

function common(command: Command): Command {
  return command
    .option("-s, --storage <address>", "where the agents are")
    .option("--keys <module#export>", "the keys of an encrypted storage")
    .option("--seals <module#export>", "the options of a sealed storage; the command seals its writes")
    .option("--json", "answer in JSON, for programs")
    .option("--no-color", "answer without color");
}

function writing(command: Command): Command {
  return common(command).option("-y, --yes", "do not ask for confirmation");
}

function withAgent(command: Command, what: string): Command {
  return command.option("-a, --agent <module#export>", what);
}

/** Parses a non-negative integer option. */
function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0 to 999999999.");
}

/** Parses an option with the name of a file. Rejects `-`, which other programs use for standard output. */
function fileToWrite(name: string): string {
  if (name !== "-") return name;
  throw new InvalidArgumentError("Name a file. For a file with this name, write ./-");
}

const encrypts = "encrypt with these keys; default: --keys";
const decrypts = "the keys of encrypted files; plain files are then refused; default: --keys";

/** Adds the options for the keys of archives that a command writes or reads. */
function withArchiveKeys(command: Command, does: "writes" | "reads"): Command {
  command.option("--archive-keys <module#export>", does === "writes" ? encrypts : decrypts);
  return does === "writes" ? command.option("--plain", "do not encrypt, although the storage is encrypted") : command;
}

/** A character that process arguments cannot contain. */
const mark = "\0";

/**
 * Marks a call id that starts with a dash, because the parser treats arguments with a dash as options. A call id has 22
 * characters, and no option is that long.
 */
export function marked(argument: string): string {
  return /^-[\w-]{21}$/.test(argument) ? mark + argument : argument;
}

function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  return typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : value;
}
