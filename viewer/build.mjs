// Bundles the viewer: dist/page.html, one page without a network, with a place for its data; and
// dist/sheet.js, which draws one of its pictures without a browser.
//
//     node build.mjs [DIRECTORY]
//
// The page's policy names the hash of its one script, so that no other script can run in it, and
// allows no request at all.

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const bundle = async (entry) => {
  const built = await build({
    entryPoints: [new URL(entry, here).pathname],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2023",
    charset: "utf8",
    legalComments: "none",
    write: false,
  });
  return built.outputFiles[0].text;
};
// A script ends at the first "</script", wherever that stands.
const script = (await bundle("src/main.ts")).replaceAll("</script", "<\\/script");
const style = (await readFile(new URL("src/style.css", here), "utf8")).trim();
const hash = createHash("sha256").update(script).digest("base64");
const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'`;
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>morecores</title>
<style>
${style}
</style>
</head>
<body>
<main><noscript>This page draws its pictures with a script of its own. Without scripts, morecores show prints the same figures.</noscript></main>
<script type="application/json" id="data">@DATA@</script>
<script>${script}</script>
</body>
</html>
`;
const directory = process.argv[2] ?? new URL("dist", here).pathname;
await mkdir(directory, { recursive: true });
await writeFile(join(directory, "page.html"), page);
await writeFile(join(directory, "sheet.js"), await bundle("src/sheet/main.ts"));
