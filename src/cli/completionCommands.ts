import { Argument, type Command } from "commander";
import type { Lazily } from "./Lazily.ts";

export function completionCommands(program: Command, lazily: Lazily): void {
  program
    .command("completion")
    .description("print the script that completes commands, options and ids in a shell")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .action(lazily(async () => (await import("./completion/completion.ts")).completion));
  program
    .command("complete", { hidden: true })
    .argument("[words...]")
    .action(lazily(async () => (await import("./completion/complete.ts")).completeFor(program)));
}
