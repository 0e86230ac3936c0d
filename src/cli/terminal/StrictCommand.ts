import { Command, type ErrorOptions } from "commander";

/** Suggests no option for a word of up to three letters, because commander suggests `--keys` for `--yes`. */
export class StrictCommand extends Command {
  override createCommand(name?: string): Command {
    return new StrictCommand(name);
  }

  override error(message: string, options?: ErrorOptions): never {
    return super.error(message.replace(/('--.{0,3}')\n\(Did you mean .*\)$/, "$1"), options);
  }
}
