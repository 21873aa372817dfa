/**
 * Renders the page that the browser shows at the end of a login.
 */
const escape = (text: string): string => text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)

export const callbackPage = (title: string, text: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36em; margin: 15vh auto; padding: 0 1em; color-scheme: light dark }
</style>
</head>
<body>
<h1>${escape(title)}</h1>
<p>${escape(text)}</p>
</body>
</html>
`
