import type { Command } from "commander";
import { type Lazily, common, count } from "./commonOptions.ts";

export function readingCommands(program: Command, lazily: Lazily): void {
  common(program.command("list"))
    .description("list the agents, with their statuses")
    .option("--status <status...>", "only agents in these statuses")
    .option("--limit <number>", "the most agents to list; 0: all", count, 100)
    .option("--after <cursor>", "only agents behind this one, by the cursor that --json shows")
    .action(lazily(async () => (await import("./reading/list.ts")).list));
  common(program.command("show"))
    .description("show an agent, or one of its checkpoints with messages, input and storage")
    .argument("<agent>")
    .argument("[checkpoint]", "its id, the beginning of it, or its name")
    .option("--messages <number>", "the most messages of a checkpoint; 0: all", count, 20)
    .action(lazily(async () => (await import("./reading/show.ts")).show));
  common(program.command("tree"))
    .description("show the checkpoints as a tree, with branches and moves")
    .argument("<agent>")
    .option("--last <number>", "only the newest checkpoints; 0: all", count, 50)
    .action(lazily(async () => (await import("./reading/tree.ts")).tree));
  common(program.command("log"))
    .description("show the records as they are stored, oldest first")
    .argument("<agent>")
    .option("--after <position>", "only records behind this position", count, 0)
    .option("--limit <number>", "the most records to show; 0: all", count, 0)
    .option("--kind <kind...>", "only records of these kinds")
    .option("-f, --follow", "go on with the records to come, until you stop it")
    .action(lazily(async () => (await import("./reading/log.ts")).log));
  common(program.command("diff"))
    .description("show what differs between two checkpoints")
    .argument("<agent>")
    .argument("<from>", "a checkpoint")
    .argument("[to]", "another checkpoint; default: the newest")
    .action(lazily(async () => (await import("./reading/diff.ts")).diff));
  common(program.command("verify"))
    .description("read everything of every agent, and name what is damaged")
    .argument("[agent...]", "default: every agent")
    .option("--since <head>", "a checkpoint that was seen, such as 2-7 or 2-7@<time>, or a file with lines of JSON")
    .action(lazily(async () => (await import("./reading/verify.ts")).verify));
  common(program.command("ui"))
    .description("write the timeline of an agent to a web page, or serve those of all agents, live")
    .argument("[agent]", "default, without --out: every agent")
    .option("-o, --out <file>", "write one page that needs nothing else; a page that is there is replaced")
    .option("--redact <path...>", "hide what is at these paths, such as user.email")
    .option("--show-secrets", "show what looks like a secret")
    .option("--last <number>", "only the newest checkpoints; 0: all", count, 0)
    .option("--prices <file>", "show costs, by a JSON file with the prices of a million tokens")
    .option("--port <number>", "the port on this machine; 0: any that is free", count, 0)
    .action(lazily(async () => (await import("./reading/ui.ts")).ui));
}
