#!/usr/bin/env node
// Writes provider/models.json: how large, how dear and how able models are.
//
// The figures are facts that providers publish. They are gathered from the two
// releases of pi that the interop tests install (see interop/package.json): the
// newer one counts, the older one still knows models that are gone from it and
// that logs still name. Run it from anywhere, after `make setup`:
//
//     node tools/models.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const sources = ["@mariozechner/pi-ai", "@earendil-works/pi-ai"]; // the later ones count

// The providers we keep. Others resell the models of these under the same names.
const wanted = [
  "amazon-bedrock", "anthropic", "cerebras", "deepseek", "fireworks", "github-copilot", "google", "groq",
  "kimi-coding", "minimax", "mistral", "moonshotai", "openai", "openai-codex", "openrouter", "together", "xai",
  "xiaomi", "zai",
];

// What is not a model of its own, or not one to talk to: variants that cost less
// because they wait, names that stand for whatever is newest, regions.
const unwanted = /:batch$|:free$|^~|^auto$|^openrouter\/|realtime|-live-|audio|voxtral|-image$|deep-research|safeguard|^(eu|apac|au|ca|in|jp|us-gov)\./;

// spec is what we keep of a model, in the words of Go's provider.Spec.
function spec(model) {
  const { input, output, cacheRead, cacheWrite } = model.cost ?? {};
  const price = {};
  for (const [name, value] of Object.entries({ input, output, cacheRead, cacheWrite })) {
    if (value > 0) price[name] = Number(value.toFixed(6));
  }
  const kept = { window: model.contextWindow };
  if (model.maxTokens > 0) kept.maxOutput = Math.min(model.maxTokens, model.contextWindow);
  if (Object.keys(price).length > 0) kept.price = price;
  if (model.reasoning) kept.thinks = true;
  if (model.input?.includes("image")) kept.sees = true;
  return kept;
}

const catalog = {};
for (const source of sources) {
  const folder = join(root, "interop", "node_modules", source);
  const { MODELS } = await import(pathToFileURL(join(folder, "dist", "models.generated.js")));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  let count = 0;
  for (const provider of wanted) {
    for (const model of Object.values(MODELS[provider] ?? {})) {
      if (unwanted.test(model.id) || !(model.contextWindow > 0)) continue;
      (catalog[provider] ??= {})[model.id] = spec(model);
      count++;
    }
  }
  console.log(`${source} ${version}: ${count} models`);
}

const byName = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0);
const providers = Object.entries(catalog).sort(byName).map(([provider, models]) => {
  const lines = Object.entries(models).sort(byName).map(([name, s]) => `    ${JSON.stringify(name)}: ${JSON.stringify(s)}`);
  return `  ${JSON.stringify(provider)}: {\n${lines.join(",\n")}\n  }`;
});
const text = `{\n${providers.join(",\n")}\n}\n`;
writeFileSync(join(root, "provider", "models.json"), text);
console.log(`provider/models.json: ${Object.keys(catalog).length} providers, ${text.length} bytes`);
