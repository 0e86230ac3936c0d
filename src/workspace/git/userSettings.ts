import { homedir } from "node:os";
import { join } from "node:path";
import type { GitRepository } from "./GitRepository.ts";

/** The settings of a repository and of its user; a key is in lower case but for its middle part. @throws GitError */
export async function userSettings(repository: GitRepository): Promise<ReadonlyMap<string, string>> {
  const { output } = await repository.userSettings();
  const fields = output.toString().split("\0");
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    // Our own settings are listed as those of a command.
    if (fields[at] === "command") continue;
    const [key, value] = settingIn(fields[at + 1] ?? "");
    settings.set(key, value);
  }
  return settings;
}

/** A setting as `git config --list -z` writes it: without a value it is true. */
export function settingIn(text: string): readonly [key: string, value: string] {
  const end = text.indexOf("\n");
  return end < 0 ? [text, "true"] : [text.slice(0, end), text.slice(end + 1)];
}

/** @param fallback the value of a setting that is absent. */
export function isOn(settings: ReadonlyMap<string, string>, key: string, fallback: boolean): boolean {
  const value = settings.get(key);
  return value === undefined ? fallback : !["false", "no", "off", "0", ""].includes(value.toLowerCase());
}

/** The file with the patterns that a user ignores in every repository. */
export function excludesFile(settings: ReadonlyMap<string, string>): string {
  const file = settings.get("core.excludesfile");
  if (file !== undefined) return file.startsWith("~/") ? join(homedir(), file.slice(2)) : file;
  return join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "git", "ignore");
}
