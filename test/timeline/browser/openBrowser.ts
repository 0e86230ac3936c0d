import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium } from "playwright-core";

const modules = fileURLToPath(new URL("../../../node_modules/", import.meta.url));
const shipped = `${modules}@sparticuz/chromium/`;

/**
 * A browser for tests: the Chromium that an npm package ships, with the libraries and the fonts that come with it where the
 * machine has none; or the Chrome of the machine, where that one does not run.
 */
export async function openBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu"];
  const folder = unpackedBrowser();
  const env = existsSync("/etc/fonts") ? process.env : { ...process.env, FONTCONFIG_PATH: folder };
  try {
    return await chromium.launch({ executablePath: `${folder}/chromium`, args, env });
  } catch (error) {
    const libraries = { LD_LIBRARY_PATH: `${folder}/lib` };
    return await chromium
      .launch({ executablePath: `${folder}/chromium`, args, env: { ...env, ...libraries } })
      .catch(() => chromium.launch({ channel: "chrome", args }))
      .catch(() => {
        throw new Error("No browser runs here: install Chrome", { cause: error });
      });
  }
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
