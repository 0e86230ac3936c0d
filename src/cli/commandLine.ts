import { Command, Argument } from "commander";
import type { ExitReason } from "./terminal/CommandFailure.ts";
import type { Lazily } from "./commonOptions.ts";
import { unmarked } from "./ids/dashedIds.ts";
import { readingCommands } from "./readingCommands.ts";
import { Session, type WritingOptions } from "./session/Session.ts";
import type { CommandIo } from "./terminal/CommandIo.ts";
import { visibleLines } from "./terminal/visibleText.ts";
import { writingCommands } from "./writingCommands.ts";

const where = `
The agents are at an address: file:<folder>, sqlite:<file>, postgres://<user>@<host>/<database> or dynamodb:<table>.
Without --storage, it is that in AGENT_PERSISTENCE_STORAGE, else the nearest folder .agent-persistence.
Ids may be shortened to what is unambiguous.`;

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
      const options = Object.fromEntries(all.map(([name, value]) => [name, unmarked<unknown>(value)]));
      await using session = new Session(io, options as WritingOptions);
      const action = await load();
      const ended = await action(session, options as never, ...(given.slice(0, -2).map(unmarked) as never[]));
      if (ended) onEnd(ended);
    };
  const program = new Command("agent-persistence")
    .description("Looks at durable agents, and steers them.")
    .version(io.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "print what a command does")
    .addHelpText("after", where)
    .showHelpAfterError("(agent-persistence --help lists the commands and their options)")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.out.write(text),
      writeErr: (text) => void (isForPrograms || io.err.write(visibleLines(text))),
      getOutHelpWidth: () => io.out.columns ?? 100,
      getErrHelpWidth: () => io.err.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  readingCommands(program, lazily);
  writingCommands(program, lazily);
  completionCommands(program, lazily);
  return program;
}

function completionCommands(program: Command, lazily: Lazily): void {
  program
    .command("completion")
    .description("print the script that completes commands, options and ids in a shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .action(lazily(async () => (await import("./completion.ts")).completion));
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action(lazily(async () => (await import("./complete.ts")).completeFor(program)));
}
