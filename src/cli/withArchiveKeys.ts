import type { Command } from "commander";

const encrypts = "encrypt with these keys; default: --keys";
const decrypts = "the keys of encrypted files, which must be encrypted then; default: --keys";

/** Adds the options for the keys of archives that a command writes or reads. */
export function withArchiveKeys(command: Command, does: "writes" | "reads"): Command {
  command.option("--archive-keys <module#export>", does === "writes" ? encrypts : decrypts);
  return does === "writes" ? command.option("--plain", "do not encrypt, although the storage is encrypted") : command;
}
