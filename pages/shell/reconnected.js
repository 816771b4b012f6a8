// Asks for the whole page again once the server is back. A server that has been started anew has
// nothing of this visit, and Streamlit leaves what it said before standing until somebody clicks.
export default function ({ setTriggerValue }) {
  const app = document.querySelector("[data-testid=stApp]");
  let lost = false;
  const look = () => {
    const connected = app.getAttribute("data-test-connection-state") === "CONNECTED";
    if (connected && lost) setTriggerValue("again", true);
    lost = !connected;
  };
  const observer = new MutationObserver(look);
  observer.observe(app, { attributeFilter: ["data-test-connection-state"] });
  return () => observer.disconnect();
}
