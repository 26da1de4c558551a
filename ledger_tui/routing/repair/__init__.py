"""Lost conversations given back to their chats: what would be done, whether it may be, doing it, and undoing it."""
